mod failing;
mod harness;
mod laws;
mod queues;
mod ranges;
mod ring;
mod speed;
mod threaded;
