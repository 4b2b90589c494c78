/** Exports objects of the warehouse: all of them from one state of it, all of them or none. */
import type {
  ExportedObject,
  ExportFormat,
  ExportProgress,
  ExportSelection,
  ExportSnapshot,
  RowWriter,
} from '../core/export.ts'
import { UserError } from '../core/user-error.ts'
import { type Destination, type DestinationOptions, openDestination } from './destination.ts'
import { findObjects } from './find-objects.ts'
import { type RowRequest, selectRows } from './select-rows.ts'

export type ExportRequest = RowRequest &
  DestinationOptions & {
    /** Names, or patterns such as `fct_*`. */
    readonly objects: readonly string[]
  }

export type ExportDeps = {
  readonly snapshot: ExportSnapshot
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

/** Throws UserError; then nothing is left behind, except on standard output. */
export async function exportObjects(
  request: ExportRequest,
  deps: ExportDeps,
): Promise<{ readonly format: ExportFormat; readonly objects: readonly ExportedObject[] }> {
  const { snapshot } = deps
  const selections: ExportSelection[] = []
  for (const object of findObjects(request.objects, await snapshot.listObjects())) {
    selections.push(selectRows(await snapshot.describe(object), request))
  }
  const destination = await openDestination(selections, request)
  try {
    const rowCounts = await writeAll(selections, destination, deps)
    const files = await destination.publish()
    return {
      format: request.format,
      objects: selections.map((selection, n) => toReport(selection, rowCounts[n], files[n])),
    }
  } catch (error) {
    await destination.discard()
    throw error
  }
}

async function writeAll(
  selections: readonly ExportSelection[],
  destination: Destination,
  deps: ExportDeps,
): Promise<readonly number[]> {
  const rowCounts: number[] = []
  for (const selection of selections)
    rowCounts.push(await writeRows(selection, await destination.open(selection), deps))
  return rowCounts
}

/** Returns how many. */
async function writeRows(selection: ExportSelection, writer: RowWriter, deps: ExportDeps): Promise<number> {
  const { name, kind } = selection.object
  // Counting the rows of a view takes as long as reading them.
  const total = deps.countFirst && kind === 'table' ? await deps.snapshot.countRows(selection) : null
  let rows = 0
  for await (const batch of deps.snapshot.readRows(selection)) {
    if (deps.signal.aborted) throw interruptedError()
    await writer.write(batch)
    rows += batch.length
    deps.onProgress({ object: name, rows, total })
  }
  await writer.end()
  return rows
}

function interruptedError(): UserError {
  return new UserError({
    what: 'the export was interrupted',
    why: 'it was asked to stop',
    next: 'run it again: no file was written, and what went to standard output is incomplete',
    exitCode: 1,
  })
}

function toReport(
  { object, conditions }: ExportSelection,
  rows = 0,
  { file, bytes }: { readonly file: string | null; readonly bytes: number | null } = { file: null, bytes: null },
): ExportedObject {
  const bound = conditions.find(({ operator }) => operator !== '=')
  return { object: object.name, kind: object.kind, rows, file, bytes, timeColumn: bound?.column.name ?? null }
}
