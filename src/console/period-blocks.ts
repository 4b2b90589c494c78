/**
 * What the pages about a period share: the choice of days and agent, and what stands in place of
 * numbers still counted.
 */
import { pluralize } from '../values/format.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import { addressOf, type Choice, choices, selectField } from './blocks.ts'
import { keepPeriod, lastDays, maxDays, type Period, periodDays } from './core/period.ts'
import type { ProjectFrame } from './frame.ts'
import { readUnfinished } from './sql/unfinished.ts'
import { todayOf } from './text.ts'
import { hiddenFields } from './writeback-blocks.ts'

export function periodForm({
  frame,
  period,
  path,
  spans,
  agents,
  sort = null,
}: {
  readonly frame: ProjectFrame
  readonly period: Period
  /** The page, below the address of the project. */
  readonly path: string
  /** Links to usual periods. */
  readonly spans: readonly Choice[]
  /** Null: the page has no filter by an agent, and keeps that of the others. */
  readonly agents: readonly string[] | null
  readonly sort?: string | null
}): Html {
  const { from, to, isCut, agent } = period
  const hidden = hiddenFields({ sort, agent: agents === null ? agent : null })
  return html`<div class="period">${choices('Period', spans)}<form
    action="${addressOf(frame, path)}">${hidden}
<label>From <input type="date" name="from" value="${from}" required></label>
<label>To <input type="date" name="to" value="${to}" required></label>
${agents === null ? nothing : selectField('Agent', 'agent', agentOptions(agents), agent)}<button
  type="submit">Show</button></form></div>${isCut ? cutNote : nothing}`
}

const cutNote = html`<p class="faint">A page has at most ${String(maxDays)} days: these are the last
  of those that were asked for.</p>`

/** The last days until today, for a page that keeps its order of rows. */
export function daySpans(
  frame: ProjectFrame,
  period: Period,
  path: string,
  sort: string | null,
): Choice[] {
  return periodDays.map((days) => {
    const range = lastDays(todayOf(frame), days)
    const isChosen = range.from === period.from && range.to === period.to
    return {
      label: `${days} days`,
      to: keepPeriod(addressOf(frame, path), period, { sort, ...range }),
      isChosen,
    }
  })
}

function agentOptions(agents: readonly string[]) {
  const named = agents.map((name) => ({ value: name, label: name }))
  return [{ value: '', label: 'All agents' }, ...named]
}

/** What is not in a list or in numbers yet. */
export async function unfinishedNote(db: ProjectDb): Promise<Html> {
  const { isRead, pending } = await readUnfinished(db)
  const unread =
    'Conversations or messages have never been read to their end, so some may be missing.'
  const notes = [...(isRead ? [] : [unread]), ...(pending === 0 ? [] : [pendingNote(pending)])]
  return notes.length === 0 ? nothing : html`<p class="faint">${notes.join(' ')}</p>`
}

export function pendingNote(count: number): string {
  return `Up to ${pluralize(count, 'conversation')} changed and will follow after the next sync.`
}

/** The script looks again by itself. */
export function countingNotice(address: string): Html {
  return html`<p class="empty" role="status" ${attribute('data-counting', true)}>The numbers are
    being counted. <a href="${address}">Look again</a></p>`
}
