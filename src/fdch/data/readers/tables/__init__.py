"""Files opened as tables of rows: text, Excel, Parquet, Arrow, tar, folders."""
