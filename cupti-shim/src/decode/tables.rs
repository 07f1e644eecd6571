//! One column builder for each table that CUPTI's records can fill.

use trace_format::columns::Batch;
use trace_format::schema::RowBuilder;
use trace_format::tables::*;

macro_rules! tables {
    (defining { $($definition:ident $definition_builder:path;)+ } activity { $($activity:ident $activity_builder:path;)+ }) => {
        /// Rows that wait to be written.
        #[derive(Default)]
        pub struct Tables {
            $(#[doc = concat!("Rows of `", stringify!($definition), "`.")] pub $definition: $definition_builder,)+
            $(#[doc = concat!("Rows of `", stringify!($activity), "`.")] pub $activity: $activity_builder,)+
        }

        impl Tables {
            /// Rows in all tables.
            pub fn rows_pending(&self) -> usize {
                0 $(+ self.$definition.len())+ $(+ self.$activity.len())+
            }

            /// Rows in the table that has most.
            pub fn most_pending(&self) -> usize {
                0 $(.max(self.$definition.len()))+ $(.max(self.$activity.len()))+
            }

            /// Takes every table that has at least `rows` rows, and with them all defining rows, which come first:
            /// nothing in `batches` refers to what is not in there before it.
            pub fn take(&mut self, rows: usize, batches: &mut Vec<Batch>) {
                if self.most_pending() < rows.max(1) {
                    return;
                }
                $(if !self.$definition.is_empty() {
                    batches.push(self.$definition.take());
                })+
                $(if self.$activity.len() >= rows.max(1) {
                    batches.push(self.$activity.take());
                })+
            }
        }
    };
}

tables! {
    defining {
    device device::DeviceBuilder;
    context context::ContextBuilder;
    stream stream::StreamBuilder;
    thread thread::ThreadBuilder;
    shape shape::ShapeBuilder;
    }
    activity {
    kernel kernel::KernelBuilder;
    memcpy memcpy::MemcpyBuilder;
    memset memset::MemsetBuilder;
    api api::ApiBuilder;
    sync sync::SyncBuilder;
    overhead overhead::OverheadBuilder;
    graph graph::GraphBuilder;
    memory memory::MemoryBuilder;
    uvm uvm::UvmBuilder;
    event event::EventBuilder;
    external external::ExternalBuilder;
    jit jit::JitBuilder;
    openacc openacc::OpenaccBuilder;
    openmp openmp::OpenmpBuilder;
    sample sample::SampleBuilder;
    }
}
