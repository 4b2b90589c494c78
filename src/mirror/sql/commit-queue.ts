/**
 * Commits pages that are ready together in one transaction. Each transaction writes every page of the tables and indexes
 * that it touches to the log, so ten small ones write several times as much as a large one.
 */

import type { MirrorRow } from '../../../schema/row.ts'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import type { Scalar } from '../../values/json.ts'
import type { Ms } from '../../values/time.ts'
import { isWarehouseUnavailable } from '../../warehouse/explain-error.ts'
import type { CommitResult, MirrorCommit } from '../core/mirror.ts'
import type { ProjectContext } from './project-context.ts'
import { keyColumns } from './stream-tables.ts'

export type PageCommits = {
  readonly alone: (page: MirrorCommit) => Promise<CommitResult>
  /** Stores all of these pages or none. Null: they have to be committed one by one. */
  readonly together: (pages: readonly MirrorCommit[]) => Promise<readonly CommitResult[] | null>
  readonly runSerially: ProjectContext['runSerially']
}

/** How long a page waits for others. */
const maxWaitMs: Ms = 50
/** As many rows, or characters of them, are committed without waiting for more: they hold up other writers, and memory. */
const [maxRows, maxCharacters] = [1000, 4_000_000]

type WaitingPage = {
  readonly page: MirrorCommit
  readonly parent: string
  /** Of its rows. */
  readonly characters: number
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/** A page that cannot be stored does not fail the others. */
export function createCommitQueue(commits: PageCommits): (page: MirrorCommit) => Promise<CommitResult> {
  let waiting: readonly WaitingPage[] = []
  let timer: NodeJS.Timeout | undefined
  let isScheduled = false

  const commitWaiting = async () => {
    isScheduled = false
    const [group, rest] = splitGroup(waiting)
    waiting = rest
    await commitGroup(commits, group)
    // Readers whose pages have just been committed continue first.
    if (waiting.length > 0) setImmediate(commitIfReady)
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = undefined
    if (isScheduled) return
    isScheduled = true
    void commits.runSerially(commitWaiting)
  }
  const commitIfReady = () => {
    if (waiting.length === 0) return
    if (isWorthCommitting(waiting)) schedule()
    else timer ??= setTimeout(schedule, maxWaitMs)
  }
  return (page) => {
    const parent = parentOfPage(page)
    if (parent === null) return commits.runSerially(() => commits.alone(page))
    const { promise, resolve, reject } = Promise.withResolvers<CommitResult>()
    const characters = page.rows.reduce((sum, row) => sum + charactersOf(row), 0)
    waiting = [...waiting, { page, parent, characters, resolve, reject }]
    commitIfReady()
    return promise
  }
}

/** Of its texts. */
function charactersOf({ columns, extraFields }: MirrorRow): number {
  let sum = 0
  const add = (value: Scalar | undefined) => {
    if (typeof value === 'string') sum += value.length
  }
  for (const name in columns) add(columns[name])
  for (const { value } of extraFields.values()) add(value)
  return sum
}

/** Half of the readers wait: the requests of the others keep the service busy meanwhile. */
function isWorthCommitting(waiting: readonly WaitingPage[]): boolean {
  const readers = Math.max(...waiting.map(({ page }) => page.activeReaders?.() ?? 0))
  return waiting.length * 2 >= readers || isFull(waiting)
}

function isFull(pages: readonly WaitingPage[]): boolean {
  const rows = pages.reduce((sum, { page }) => sum + page.rows.length, 0)
  return rows >= maxRows || pages.reduce((sum, { characters }) => sum + characters, 0) >= maxCharacters
}

/** The pages of the next transaction, no two of one parent, and those that have to wait for another one. */
function splitGroup(waiting: readonly WaitingPage[]): [group: readonly WaitingPage[], rest: readonly WaitingPage[]] {
  const group: WaitingPage[] = []
  const rest: WaitingPage[] = []
  for (const entry of waiting) {
    const isParentInGroup = group.some(
      ({ page, parent }) => parent === entry.parent && page.stream === entry.page.stream,
    )
    const into = rest.length > 0 || isParentInGroup || isFull(group) ? rest : group
    into.push(entry)
  }
  return [group, rest]
}

async function commitGroup({ alone, together }: PageCommits, group: readonly WaitingPage[]): Promise<void> {
  try {
    const results = group.length < 2 ? null : await together(group.map(({ page }) => page))
    for (const [i, result] of (results ?? []).entries()) group[i]?.resolve(result)
    if (results !== null) return
  } catch (error) {
    // It is no page's fault: each of their readers may try again, and then they are committed together again.
    const isUnavailable = isWarehouseUnavailable(error)
    for (const { reject } of isUnavailable ? group : []) reject(error)
    if (isUnavailable) return
  }
  for (const { page, resolve, reject } of group) await alone(page).then(resolve, reject)
}

/** The parent whose children the page has; null: the page stores more than rows and is committed alone. */
function parentOfPage(page: MirrorCommit): string | null {
  const { stream, rows, childRead } = page
  if (streamSpecs[stream].kind !== 'child-list' || childRead?.completeness === 'incomplete') return null
  const isMore = [page.gaps, page.resolvedGapKeys, page.rejectedRows, page.observations].some((list) => list?.length)
  if (isMore || page.cursors !== undefined || page.seenRowsKey !== undefined || page.isAuthoritative) return null
  const parent = childRead?.parentId ?? rows[0]?.columns[keyColumns(stream)[0] ?? '']
  return typeof parent === 'string' ? parent : null
}
