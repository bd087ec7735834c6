"""Many machines: cells run on the workers of a Dask cluster, the driver alone writes the journal."""
