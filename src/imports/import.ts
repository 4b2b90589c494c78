/** An import, told as a story: every line is checked, then all are queued, or none. */

import type { Enqueue, QueueDesk } from '../core/outbox/desk.ts'
import type { Wish } from '../core/outbox/wish.ts'
import type { EpochMs } from '../core/time.ts'
import { trimBoth } from '../core/trim.ts'
import { type Checked, checkLines } from './check.ts'
import type { Line } from './line.ts'
import { type Format, readLines } from './lines.ts'
import type { Spooled } from './spool.ts'

export type Import = {
  readonly spooled: Spooled
  /** A file's path or name; null = standard input. */
  readonly name: string | null
  readonly format: Format
}

export type Imported =
  | { readonly kind: 'mistaken'; readonly checked: Checked }
  | { readonly kind: 'imported before'; readonly batch: string }
  | {
      readonly kind: 'queued'
      readonly batch: string
      readonly status: Enqueue['status']
      readonly queued: number
      readonly known: number
    }

export type ImportOptions = Pick<Enqueue, 'createdBy' | 'expiresAt'> & {
  /** More rows than that wait for approval; null = none do. */
  readonly approveOver: number | null
  readonly now: EpochMs
  /** Told now and then. */
  readonly onProgress: (doing: 'checked' | 'queued', lines: number) => void
  /** All lines are good, and so many rows are queued now, in one transaction. */
  readonly onQueueing: (rows: number) => void
}

const portion = 200

export async function importWishes(desk: QueueDesk, given: Import, options: ImportOptions): Promise<Imported> {
  const { onProgress, onQueueing, approveOver, now, createdBy, expiresAt } = options
  const before = await desk.importedAs(digestOf(given))
  if (before !== null) return { kind: 'imported before', batch: before }
  const checked = await checkLines(
    counted(linesOf(given), (lines) => onProgress('checked', lines)),
    now,
  )
  if (checked.mistaken > 0) return { kind: 'mistaken', checked }
  const status = isOver(checked.good, approveOver) ? 'draft' : 'queued'
  const batch = batchOf(given)
  onQueueing(checked.good)
  const wishes = counted(wishesOf(given), (lines) => onProgress('queued', lines))
  const done = await desk.enqueue(portions(wishes), { status, batchId: batch, createdBy, expiresAt }, digestOf(given))
  if ('importedAs' in done) return { kind: 'imported before', batch: done.importedAs }
  return { kind: 'queued', batch, status, queued: done.queued, known: done.known }
}

export function linesOf({ spooled, format }: Import): AsyncGenerator<Line> {
  return readLines(spooled.read(), format)
}

/** Of a file that was checked. Where a line has a mistake all the same the file has changed, and its reading ends so. */
async function* wishesOf(given: Import): AsyncGenerator<Wish> {
  for await (const { read } of linesOf(given)) if (read.ok) yield read.wish
}

export function isOver(rows: number, approveOver: number | null): boolean {
  return approveOver !== null && rows > approveOver
}

/** Enough of the file's digest to tell it from others, and little enough for a person to type. */
export function digestOf({ spooled }: Import): string {
  return spooled.digest.slice(0, 12)
}

/** `orders-0123456789ab`: what people call the import. */
export function batchOf(given: Import): string {
  const file = (given.name ?? 'stdin').replace(/^.*[/\\]/, '').replace(/(?!^)\.[^.]*$/, '')
  const harmless = trimBoth(file.replace(/[^\w.-]+/g, '-'), '-.')
  return `${harmless.slice(0, 40) || 'import'}-${digestOf(given)}`
}

async function* portions(wishes: AsyncIterable<Wish>): AsyncGenerator<readonly Wish[]> {
  let some: Wish[] = []
  for await (const wish of wishes) {
    some.push(wish)
    if (some.length < portion) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

async function* counted<T>(items: AsyncIterable<T>, tell: (count: number) => void): AsyncGenerator<T> {
  let count = 0
  for await (const item of items) {
    count += 1
    if (count % portion === 0) tell(count)
    yield item
  }
}
