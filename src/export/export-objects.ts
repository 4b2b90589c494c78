/** Exports objects from one state of the warehouse: to standard output, files, or a SQLite file. */
import { join } from 'node:path'
import { UserError } from '../values/user-error.ts'
import type { ExportFormat } from './core/formats.ts'
import {
  type ByteOutput,
  type ExportedObject,
  type ExportProgress,
  type ExportReport,
  type ExportSelection,
  findObjects,
  type RowRequest,
  type RowWriter,
  selectRows,
} from './core/selection.ts'
import { createOutputFile, isFolder, type OutputFile, type OutputOptions } from './output-file.ts'
import type { ExportSnapshot } from './sql/snapshot.ts'
import { createSqliteExport } from './sql/sqlite-export.ts'
import type { CsvOptions } from './writers/csv-writer.ts'
import { createRowWriter, type FileFormat } from './writers/row-writers.ts'

export type ExportRequest = RowRequest &
  OutputOptions &
  CsvOptions & {
    /** Names, or patterns such as `fct_*`. */
    readonly objects: readonly string[]
    readonly format: ExportFormat
    /** A file or a folder, or standard output. */
    readonly target: string | ByteOutput
  }

export type ExportDeps = {
  readonly snapshot: Pick<ExportSnapshot, 'listObjects' | 'describe' | 'countRows' | 'readRows'>
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

/** Throws UserError; then nothing is left behind, except on standard output. */
export async function exportObjects(
  request: ExportRequest,
  deps: ExportDeps,
): Promise<Omit<ExportReport, 'tookMs'>> {
  const { snapshot, signal } = deps
  const selections: ExportSelection[] = []
  for (const object of findObjects(request.objects, await snapshot.listObjects())) {
    selections.push(selectRows(await snapshot.describe(object), request))
  }
  const destination = await openDestination(selections, request)
  try {
    const written: Omit<ExportedObject, 'file' | 'bytes'>[] = []
    for (const table of destination.tables) written.push(await writeRows(table, deps))
    const files = await destination.publish()
    const objects = written.map((object, n) => ({ ...object, ...(files[n] ?? standardOutput) }))
    return { format: request.format, objects }
  } catch (error) {
    await destination.discard()
    throw signal.aborted ? interruptedError() : error
  }
}

async function writeRows(
  { selection, writer }: TableWriter,
  { snapshot, countFirst, onProgress, signal }: ExportDeps,
): Promise<Omit<ExportedObject, 'file' | 'bytes'>> {
  const { name: object, kind } = selection.object
  // Counting the rows of a view takes as long as reading them.
  const total = countFirst && kind === 'table' ? await snapshot.countRows(selection) : null
  let rows = 0
  for await (const batch of snapshot.readRows(selection)) {
    if (signal.aborted) throw interruptedError()
    await writer.write(batch)
    rows += batch.length
    onProgress({ object, rows, total })
  }
  await writer.end()
  const bound = selection.conditions.find(({ operator }) => operator !== '=')
  return { object, kind, rows, timeColumn: bound?.column.name ?? null }
}

function interruptedError(): UserError {
  return new UserError({
    what: 'the export was interrupted',
    why: 'it was asked to stop',
    next: 'run it again: no file was written, and what went to standard output is incomplete',
    exitCode: 1,
  })
}

type TableWriter = { readonly selection: ExportSelection; readonly writer: RowWriter }
type WrittenFile = Pick<ExportedObject, 'file' | 'bytes'>

const standardOutput: WrittenFile = { file: null, bytes: null }

type Destination = {
  /** To be written one after the other. */
  readonly tables: readonly TableWriter[]
  /** All is written: the files get their names. Returns a file for each object, in order. */
  readonly publish: () => Promise<readonly WrittenFile[]>
  /** Leaves nothing behind. */
  readonly discard: () => Promise<void>
}

/** Throws UserError if the target does not suit the format or the number of objects. */
async function openDestination(
  selections: readonly ExportSelection[],
  request: ExportRequest,
): Promise<Destination> {
  const { format, target } = request
  if (typeof target === 'string')
    return format === 'sqlite'
      ? openDatabaseFile(selections, target, request)
      : openFiles(selections, format, target, request)
  if (format === 'sqlite') throw streamError('SQLite needs a file', 'name one with --output FILE')
  if (selections.length > 1)
    throw streamError('standard output holds only one object', 'name a folder with --output DIR')
  return {
    tables: selections.map((selection) => ({
      selection,
      writer: createRowWriter[format](selection, target, request),
    })),
    publish: async () => [],
    discard: async () => {},
  }
}

function streamError(why: string, next: string): UserError {
  return new UserError({ what: 'cannot export to standard output', why, next })
}

/** Files get their names only when all are complete, so that they show one state. */
async function openFiles(
  selections: readonly ExportSelection[],
  format: FileFormat,
  target: string,
  request: ExportRequest,
): Promise<Destination> {
  const files: OutputFile[] = []
  const tables: TableWriter[] = []
  const discard = async () => {
    for (const file of files) await file.discard()
  }
  const isOneFile = selections.length === 1 && !isFolder(target)
  try {
    for (const selection of selections) {
      const name = `${selection.object.name.replaceAll(/[/\\]/g, '_')}.${format}`
      const file = await createOutputFile(isOneFile ? target : join(target, name), request)
      files.push(file)
      tables.push({ selection, writer: createRowWriter[format](selection, file.output, request) })
    }
  } catch (error) {
    await discard()
    throw error
  }
  return {
    tables,
    publish: async () => {
      const written: WrittenFile[] = []
      for (const file of files) written.push({ file: file.path, bytes: await file.publish() })
      return written
    },
    discard,
  }
}

async function openDatabaseFile(
  selections: readonly ExportSelection[],
  path: string,
  request: ExportRequest,
): Promise<Destination> {
  const file = await createOutputFile(path, request)
  try {
    const database = createSqliteExport(file.temporaryPath, path)
    return {
      tables: selections.map((selection) => ({ selection, writer: database.addTable(selection) })),
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
  } catch (error) {
    await file.discard()
    throw error
  }
}
