/** The formats of exports. */
export const exportFormats = ['csv', 'jsonl', 'parquet', 'sqlite'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** The endings by which a file's name shows its format. */
const endings: Readonly<Record<ExportFormat, readonly string[]>> = {
  csv: ['csv'],
  jsonl: ['jsonl', 'ndjson'],
  parquet: ['parquet'],
  sqlite: ['db', 'sqlite', 'sqlite3'],
}

export function formatOfPath(path: string): ExportFormat | undefined {
  return exportFormats.find((format) => endings[format].some((ending) => path.toLowerCase().endsWith(`.${ending}`)))
}
