/**
 * How many requests sync runs need: of a quiet project, of its nightly reconcile, of its first
 * mirror.
 */
import { streamNames } from '../../schema/stream-specs.ts'
import type { PerStream } from './costs.ts'

export type LoadRequests = PerStream<number>

export type Load = {
  /** Of a sync run without new rows. */
  readonly idle: LoadRequests
  /** Of a reconcile, in addition to those. */
  readonly reconcile: LoadRequests
  /**
   * The lists' remaining requests of the first mirror at the start; their rows add those of
   * children.
   */
  readonly backlog: LoadRequests
  /** Children that a page of a first mirror adds. */
  readonly childrenPerPage: number
}

export type ProjectSize = {
  readonly conversations: number
  readonly visitors: number
  readonly calls: number
}

const pageSize = 200

/** A reconcile reads the children of this many parents again, or of all if there are fewer. */
const reconcileSample = 1000

const none = Object.fromEntries(streamNames.map((stream) => [stream, 0])) as LoadRequests

/** `idle`: as measured. */
export function createLoad(size: ProjectSize, idle: LoadRequests, isNew: boolean): Load {
  const pages = (rows: number) => Math.ceil(rows / pageSize)
  const lists = {
    conversations: pages(size.conversations),
    visitors: pages(size.visitors),
    calls: pages(size.calls),
  }
  const sampledChildren = {
    messages: Math.min(size.conversations, reconcileSample),
    visitor_activity: Math.min(size.visitors, reconcileSample),
    call_recordings: Math.min(size.calls, reconcileSample),
  }
  return {
    idle,
    reconcile: { ...none, ...lists, ...sampledChildren },
    backlog: isNew ? { ...none, ...lists } : none,
    childrenPerPage: pageSize,
  }
}
