"""Files and tables in memory as a `RawTable`: text, Excel, Parquet, `.npz`, genomics, AnnData."""
