/** How many requests passes need: of a quiet project, of its nightly reconcile, of its first mirror. */
import { parentStreams } from '../../src/core/mirror.ts'
import { type StreamName, streamNames } from '../../src/core/row.ts'
import type { PerStream } from './costs.ts'

export type Requests = PerStream<number>

export type Load = {
  /** Of a pass that finds nothing new. */
  readonly idle: Requests
  /** Of a reconcile, beside those. */
  readonly reconcile: Requests
  /** What is left of the first mirror at the start, in lists; their rows bring the rest. */
  readonly backlog: Requests
  /** Children that a page of a first mirror brings. */
  readonly childrenPerPage: number
}

export type ProjectSize = { readonly conversations: number; readonly visitors: number; readonly calls: number }

const pageSize = 200

/** A reconcile reads the children of so many parents again, or of all if there are fewer. */
const reconcileSample = 1000

const none = Object.fromEntries(streamNames.map((stream) => [stream, 0])) as Requests

/** `idle`: as measured. */
export function createLoad(size: ProjectSize, idle: Requests, isNew: boolean): Load {
  const pages = (rows: number) => Math.ceil(rows / pageSize)
  const lists = {
    conversations: pages(size.conversations),
    visitors: pages(size.visitors),
    calls: pages(size.calls),
  }
  const proof = {
    messages: Math.min(size.conversations, reconcileSample),
    visitor_activity: Math.min(size.visitors, reconcileSample),
    call_recordings: Math.min(size.calls, reconcileSample),
  }
  return {
    idle,
    reconcile: { ...none, ...lists, ...proof },
    backlog: isNew ? { ...none, ...lists } : none,
    childrenPerPage: pageSize,
  }
}

/** The stream that hangs on the rows of a list. */
export function childStreamOf(stream: StreamName): StreamName | null {
  const found = Object.entries(parentStreams).find(([, list]) => list === stream)
  return (found?.[0] as StreamName | undefined) ?? null
}

export function isChildStream(stream: StreamName): boolean {
  return stream in parentStreams
}
