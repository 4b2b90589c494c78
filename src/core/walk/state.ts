/** What a walk over a list has come to: what is left, which way it goes, and what the pages have shown. */

import type { Seconds } from '../time.ts'
import type { Page } from './evidence.ts'
import type { Knowledge, Side } from './knowledge.ts'
import type { List } from './list.ts'
import type { Asked } from './order.ts'
import type { Range } from './position.ts'

export type Walk = {
  readonly list: List
  readonly known: Knowledge
  /** The range being covered; null = nothing is left to ask. */
  readonly now: Range | null
  readonly rest: readonly Range[]
  /** What the next pass begins with, once the open end of the time line has been seen. */
  readonly tail: Range | null
  /** The clocks when a page first showed rows dated ahead of them: what comes since may lie before those. */
  readonly cap: Seconds | null
  /** The way that the pages of this range lead, and what to try if it turns out to lead nowhere. */
  readonly leg: Leg | null
  /** Ask without the overlap: it would fill the page. */
  readonly tight: boolean
  /** Rows of a second that fills a page: the page asked without overlap shows some of them, or the bound cuts them off. */
  readonly joints: readonly string[]
  /** The ids of the last two pages: what makes a row a fresh one. */
  readonly recent: readonly ReadonlySet<string>[]
  /** A crowded second was passed and nothing new has come since. */
  readonly barren: boolean
  /** The last page was small, and said all the same to have more behind it. */
  readonly short: boolean
  /** What is to be joined: the last row of a page that followed no time that it showed, and the range it was asked for. */
  readonly loose: { readonly last: string; readonly range: Range } | null
  /**
   * Whether the service is known to say of any last page that there is more: then an empty one that has more is no claim.
   * Null: of a list that is empty from its beginning nobody can say just now.
   */
  readonly habit: boolean | null
  /** Pages did not join; said once. */
  readonly unordered: boolean
  /** The last page's rows where they stood: the next one joins it that shows one of them there again. */
  readonly last: ReadonlySet<string>
  /** What to go back to if the next page joins nothing: from the middle of the last page; null = that has been tried. */
  readonly back: Range | null
  /** Where it was gone back from: not twice from there, nor from anywhere before, so that every walk ends. */
  readonly turned: Seconds | null
}

/** A page, and the question that it answers. */
export type Opening = { readonly page: Page; readonly asked: Asked }

/** One direction through a range, and what its first page said. */
export type Leg = {
  readonly side: Side
  /** Where the other side would go on from the first page; null = it cannot be asked, or was tried. */
  readonly other: Range | null
  readonly proven: boolean
  /** The first page said that there was more. */
  readonly claimed: boolean
  /** It was so small that saying so may be no more than a habit. */
  readonly small: boolean
  /** The first page of the range, and the range that it was asked for. */
  readonly begun: Opening
  readonly range: Range
  /** The page that this side goes on from: the first one, or its own first where it has to begin with the whole range. */
  readonly origin: Opening
  /** The end that `origin` was taken from, once that has been asked for; null = not told. */
  readonly end: Side | null
  readonly tried: boolean
  /** What is missing if nothing more comes on any side; null = then nothing is. */
  readonly doubt: Range | null
}

export type Step = {
  readonly walk: Walk
  /** Seconds that hold more rows than a page: the walk goes on behind them, and parts of the list may still show them. */
  readonly crowded: readonly Seconds[]
  /** What this walk could not see. */
  readonly missed: readonly { readonly range: Range; readonly reason: string }[]
  /** The page contradicts what was believed about the list's order. */
  readonly changed: boolean
}

/** A step, as far as the ranges are concerned. */
export type Next = Omit<Step, 'changed'>

export const reasons = {
  crowded: 'more rows share this second than one page holds',
  unreachable: 'the service says that there is more, and no parameter leads there',
  unordered: 'the rows follow no time that they show, so that pages may not join',
  hollow: 'the service says that there is more, and shows none of it',
  apart: 'a page shows no row of the one before it, so that rows between them may be missing',
} as const
