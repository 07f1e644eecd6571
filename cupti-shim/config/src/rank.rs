//! Which process of a distributed job this is, from the variables that launchers set.

/// A process's place in its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobPlace {
    /// Number of the process in the job.
    pub rank: Option<u32>,
    /// Number of the process on its host.
    pub local_rank: Option<u32>,
    /// How many processes the job has.
    pub world_size: Option<u32>,
}

/// A launcher's variables for rank, rank on the host, and number of processes.
pub struct Launcher {
    /// Number of the process in the job.
    pub rank: &'static str,
    /// Number of the process on its host.
    pub local_rank: &'static str,
    /// How many processes the job has.
    pub world_size: &'static str,
}

const fn launcher(rank: &'static str, local_rank: &'static str, world_size: &'static str) -> Launcher {
    Launcher { rank, local_rank, world_size }
}

/// Every launcher we know, the first that gives a rank wins: torchrun inside srun inside mpirun is torchrun's rank.
pub static LAUNCHERS: &[Launcher] = &[
    // torchrun, and what imitates it
    launcher("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    launcher("PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE"),
    launcher("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
    launcher("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"),
    // MPICH and Intel MPI
    launcher("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
];

/// This process's place, by the environment that `lookup` knows.
///
/// All three numbers come from the same launcher: the number of tasks of an allocation is not that of a torchrun
/// inside it.
pub fn place(lookup: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> JobPlace {
    let number = |name: &str| -> Option<u32> {
        let value = lookup(name.as_bytes())?;
        std::str::from_utf8(&value).ok()?.trim().parse().ok()
    };
    for launcher in LAUNCHERS {
        if let Some(rank) = number(launcher.rank) {
            let world_size = number(launcher.world_size).filter(|size| rank < *size);
            return JobPlace { rank: Some(rank), local_rank: number(launcher.local_rank), world_size };
        }
    }
    JobPlace::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> JobPlace {
        place(&|name| {
            let found = variables.iter().find(|(n, _)| n.as_bytes() == name);
            found.map(|(_, value)| value.as_bytes().to_vec())
        })
    }

    #[test]
    fn each_launcher_is_known() {
        for launcher in LAUNCHERS {
            let place = of(&[(launcher.rank, "5"), (launcher.local_rank, "1"), (launcher.world_size, "8")]);
            assert_eq!(
                place,
                JobPlace { rank: Some(5), local_rank: Some(1), world_size: Some(8) },
                "{}",
                launcher.rank
            );
        }
    }

    #[test]
    fn numbers_of_two_launchers_are_not_mixed() {
        let place = of(&[("RANK", "3"), ("LOCAL_RANK", "3"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]);
        assert_eq!(place, JobPlace { rank: Some(3), local_rank: Some(3), world_size: None });
    }

    #[test]
    fn a_variable_that_is_no_number_is_not_a_rank() {
        assert_eq!(of(&[("RANK", "gold")]), JobPlace::default());
        assert_eq!(of(&[("RANK", "gold"), ("PMIX_RANK", "2")]).rank, Some(2));
        assert_eq!(of(&[]), JobPlace::default());
    }

    #[test]
    fn an_impossible_world_size_is_left_out() {
        assert_eq!(of(&[("RANK", "4"), ("WORLD_SIZE", "4")]).world_size, None);
    }
}
