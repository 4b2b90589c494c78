/**
 * Workbooks (.xlsx) as CSV, so that all of an import reads them like any sheet. A thread of its own
 * unpacks the file, which anybody may have made: however large that gets, or however long it takes,
 * the process goes on.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { readColumns } from './csv-values.ts'
import { type FileForm, fileError } from './file-form.ts'

/** How the CSV is written. */
export const workbookForm: FileForm = {
  encoding: 'utf-8',
  lineEnd: 'lf',
  format: 'csv',
  separator: ',',
  hasSeparatorLine: false,
}

export function isWorkbook(start: Uint8Array): boolean {
  return Buffer.from(start.subarray(0, 4)).toString('latin1') === 'PK\x03\x04'
}

/** `maxBytes`: packed, unpacked, and as CSV; those of about 100,000 replies. */
const limits = { maxBytes: 64_000_000, maxHeapMegabytes: 256, maxSeconds: 60 }
export const maxWorkbookBytes = limits.maxBytes

/** `sheet` null: the only one that is visible, or else the heads of those that are. */
export type WorkbookQuestion = {
  readonly workbook: Uint8Array
  readonly sheet: string | null
  readonly maxBytes: number
}
export type SheetHead = { readonly name: string; readonly rows: readonly (readonly string[])[] }
export type WorkbookAnswer =
  | { readonly csv: Uint8Array }
  | { readonly heads: readonly SheetHead[] }
  | { readonly problem: 'too large' | 'unreadable' }
  | { readonly problem: 'uncalculated'; readonly cell: string | null }

const problems = {
  'too large': {
    why: 'the workbook is too large: unpacked, it has more than 64 MB',
    next: 'save the sheet as CSV, and import that file',
  },
  uncalculated: {
    why: 'a formula in it has no result yet',
    next: 'open it in a spreadsheet program, save it, and import it again',
  },
  unreadable: {
    why: 'it is a zip file but not an Excel workbook (.xlsx), or it is damaged',
    next: 'save it as an Excel workbook (.xlsx) or as CSV, and import that file',
  },
} as const

/**
 * The visible sheet that names the columns of an import, or else the first one. Each of its rows is
 * a record, empty ones too, so that rows have the numbers that people see. Throws UserError if it
 * cannot be read.
 */
export async function toCsv(workbook: Uint8Array, given = limits): Promise<Uint8Array> {
  const first = await ask(workbook, null, given)
  const answer = 'heads' in first ? await ask(workbook, chooseSheet(first.heads), given) : first
  if ('csv' in answer) return answer.csv
  const { why, next } = problems['problem' in answer ? answer.problem : 'unreadable']
  const cell = 'cell' in answer ? answer.cell : null
  throw fileError(cell === null ? why : `the formula of cell ${cell} has no result yet`, next)
}

async function ask(
  workbook: Uint8Array,
  sheet: string | null,
  { maxBytes, maxHeapMegabytes, maxSeconds }: typeof limits,
): Promise<WorkbookAnswer> {
  const tooLarge = { problem: 'too large' } as const
  if (workbook.length > maxBytes) return tooLarge
  // The compiled package has JavaScript only.
  const file = new URL(`./workbook-main${extname(import.meta.url)}`, import.meta.url)
  const thread = new Worker(file, {
    workerData: { workbook, sheet, maxBytes } satisfies WorkbookQuestion,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: 32 },
  })
  const { promise, resolve, reject } = Promise.withResolvers<WorkbookAnswer>()
  const timer = setTimeout(() => resolve(tooLarge), maxSeconds * 1000)
  thread.once('message', resolve)
  thread.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve(tooLarge)
    else reject(error)
  })
  thread.once('exit', () => reject(new Error('the thread that reads the workbook has ended')))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    await thread.terminate()
  }
}

function chooseSheet(heads: readonly SheetHead[]): string {
  const known = heads.filter(({ rows }) =>
    rows.some((cells) => {
      const { isSheet, likely } = readColumns(cells)
      return isSheet || likely.includes('operation')
    }),
  )
  if (known.length < 2) return (known[0] ?? heads[0])?.name ?? ''
  const names = known.slice(0, 5).map(({ name }) => name)
  throw fileError(
    `several of its sheets have rows to import: ${names.join(', ')}`,
    'delete or hide the others, or import each from a workbook of its own',
  )
}
