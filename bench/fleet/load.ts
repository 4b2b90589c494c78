/** How many requests passes need: of a quiet project, of its nightly reconcile, of its first mirror. */
import { childStreams } from '../../src/core/mirror.ts'
import { type StreamName, streamNames } from '../../src/core/row.ts'
import type { OfStream } from './costs.ts'

export type Requests = OfStream<number>

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

export type Size = { readonly conversations: number; readonly visitors: number; readonly calls: number }

const pageSize = 200

/** A reconcile reads the children of so many parents again, or of all if there are fewer. */
const proofRead = 1000

const none = Object.fromEntries(streamNames.map((stream) => [stream, 0])) as Requests

/** `idle`: as measured. */
export function loadOf(size: Size, idle: Requests, isNew: boolean): Load {
  const pages = (rows: number) => Math.ceil(rows / pageSize)
  const lists = {
    conversations: pages(size.conversations),
    visitors: pages(size.visitors),
    calls: pages(size.calls),
  }
  const proof = {
    messages: Math.min(size.conversations, proofRead),
    visitor_activity: Math.min(size.visitors, proofRead),
    call_recordings: Math.min(size.calls, proofRead),
  }
  return {
    idle,
    reconcile: { ...none, ...lists, ...proof },
    backlog: isNew ? { ...none, ...lists } : none,
    childrenPerPage: pageSize,
  }
}

/** The stream that hangs on the rows of a list. */
export function childOf(stream: StreamName): StreamName | null {
  const found = Object.entries(childStreams).find(([, list]) => list === stream)
  return (found?.[0] as StreamName | undefined) ?? null
}

export function isChild(stream: StreamName): boolean {
  return stream in childStreams
}
