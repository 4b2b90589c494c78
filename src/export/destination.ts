/** Where an export goes: standard output, one file for each object, or one SQLite file for all. */
import { join } from 'node:path'
import { UserError } from '../values/user-error.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportFormat,
  ExportRow,
  ExportSelection,
  ExportValue,
  RowWriter,
} from './core/export.ts'
import { createCsvWriter } from './csv-writer.ts'
import { createOutputFile, isFolder, type OutputFile, type OverwriteOptions } from './output-file.ts'
import { createParquetWriter } from './parquet-writer.ts'
import { createSqliteExport } from './sql/sqlite-export.ts'

type WrittenFile = { readonly file: string | null; readonly bytes: number | null }

export type Destination = {
  /** One object after the other. */
  readonly open: (selection: ExportSelection) => Promise<RowWriter>
  /** All objects are written: their files get their names. Returns a file for each object, in their order. */
  readonly publish: () => Promise<readonly WrittenFile[]>
  /** Leaves nothing behind. */
  readonly discard: () => Promise<void>
}

export type DestinationOptions = OverwriteOptions & {
  readonly format: ExportFormat
  /** Whether CSV is for spreadsheets. */
  readonly forSpreadsheets: boolean
  /** A file or a folder, or standard output. */
  readonly target: string | ByteOutput
}

/** Throws UserError if the target does not suit the format or the number of objects. */
export async function openDestination(
  selections: readonly ExportSelection[],
  options: DestinationOptions,
): Promise<Destination> {
  const { format, target } = options
  if (typeof target !== 'string') return toStream(selections, format, target, options)
  if (format === 'sqlite') return toDatabaseFile(selections, target, options)
  const paths = toPaths(selections, format, target)
  return toFiles(paths, format, options)
}

function toStream(
  selections: readonly ExportSelection[],
  format: ExportFormat,
  output: ByteOutput,
  options: DestinationOptions,
): Destination {
  const why = format === 'sqlite' ? 'SQLite needs a file' : 'standard output holds only one object'
  const next = format === 'sqlite' ? 'name one with --output FILE' : 'name a folder with --output DIR'
  if (format === 'sqlite' || selections.length > 1) {
    throw new UserError({ what: 'cannot export to standard output', why, next, exitCode: 2 })
  }
  return {
    open: async (selection) => createRowWriter[format](selection, output, options),
    publish: async () => selections.map(() => ({ file: null, bytes: null })),
    discard: async () => {},
  }
}

/** Files get their names only when all of them are complete, so that they show one state of the warehouse. */
async function toFiles(
  paths: readonly string[],
  format: FileFormat,
  options: DestinationOptions,
): Promise<Destination> {
  const files: OutputFile[] = []
  const discard = async () => {
    for (const file of files) await file.discard()
  }
  try {
    for (const path of paths) files.push(await createOutputFile(path, options))
  } catch (error) {
    await discard()
    throw error
  }
  const remaining = files.values()
  return {
    open: async (selection) => {
      const { value: file } = remaining.next()
      if (file === undefined) throw new Error('more objects than files')
      return createRowWriter[format](selection, file.output, options)
    },
    publish: async () => {
      const written: WrittenFile[] = []
      for (const file of files) written.push({ file: file.path, bytes: await file.publish() })
      return written
    },
    discard,
  }
}

async function toDatabaseFile(
  selections: readonly ExportSelection[],
  path: string,
  options: DestinationOptions,
): Promise<Destination> {
  const file = await createOutputFile(path, options)
  const database = createSqliteExport(file.temporaryPath, path)
  return {
    open: async (selection) => database.addTable(selection),
    publish: async () => {
      database.finish()
      const bytes = await file.publish()
      return selections.map(() => ({ file: path, bytes: selections.length === 1 ? bytes : null }))
    },
    discard: async () => {
      database.discard()
      await file.discard()
    },
  }
}

type FileFormat = Exclude<ExportFormat, 'sqlite'>

function toPaths(selections: readonly ExportSelection[], format: FileFormat, target: string): readonly string[] {
  if (selections.length === 1 && !isFolder(target)) return [target]
  return selections.map(({ object }) => join(target, `${object.name.replaceAll(/[/\\]/g, '_')}.${format}`))
}

type CreateRowWriter = (selection: ExportSelection, output: ByteOutput, options: DestinationOptions) => RowWriter

const createRowWriter: Readonly<Record<FileFormat, CreateRowWriter>> = {
  csv: ({ columns }, output, options) => createCsvWriter(columns, output, options),
  jsonl: ({ columns }, output) => createJsonLinesWriter(columns, output),
  parquet: createParquetWriter,
}

/** Rows as JSON Lines: one object a line, with every column. Integers keep all digits; JSON stays text. */
function createJsonLinesWriter(columns: readonly ExportColumn[], output: ByteOutput): RowWriter {
  const names = columns.map(({ name }) => JSON.stringify(name))
  const toLine = (row: ExportRow) => `{${row.map((value, n) => `${names[n]}:${toJson(value)}`).join(',')}}\n`
  return {
    write: (rows) => output.write(Buffer.from(rows.map(toLine).join(''))),
    end: async () => {},
  }
}

function toJson(value: ExportValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
