//! What gpuprof writes into exports and finds again in them: names that an exporter and the importer of the same format
//! must spell alike. An exporter may not know the importer, nor an importer the exporter, so what both know is here.

pub mod flat;
pub mod folder;
pub mod nsys_sqlite;
pub mod nvprof_db;
