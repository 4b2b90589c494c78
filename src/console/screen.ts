/** What a page of a project is asked with, and what of its data the person may see. */
import type { Readable } from 'node:stream'
import type { Warehouse } from '../app/open.ts'
import type { ReadableNow } from '../app/read-now.ts'
import type { Role } from '../config/people.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import type { ConsolePage, ProjectFrame } from './frame.ts'
import type { ConsoleProject } from './project.ts'
import type { ConsoleReads } from './reads.ts'

/** All values that a form or an address gives by this name. */
export type Values = (name: string) => readonly string[]

/** What every request about a project is answered with. */
export type ProjectRequest = {
  readonly reads: ConsoleReads
  readonly warehouse: Warehouse
  /** Of the project, in this warehouse. */
  readonly db: ProjectDb
  readonly outbox: Outbox
  readonly project: ConsoleProject
  readonly frame: ProjectFrame
}

export type ScreenRequest = ProjectRequest & {
  /**
   * Reads the messages of a conversation, or a visitor, from the service and stores them; `why`:
   * that did not work. Null: nothing can be read from the service here.
   */
  readonly readNow:
    | ((stream: ReadableNow, id: string) => Promise<{ readonly why: string | null }>)
    | null
  /** The `:id` of the path; empty = it has none. */
  readonly id: string
  /** A parameter of the address; null = it is missing or empty. */
  readonly query: (name: string) => string | null
  /** A parameter that may be given several times. */
  readonly all: Values
}

/** In place of a page. */
export type FileAnswer = {
  readonly file: Readonly<Record<'name' | 'type', string>> & {
    readonly content: Uint8Array | Readable
  }
}

/** `show` returns null if there is no such thing, or the address of another page. */
export type Screen = {
  readonly path: string
  readonly role: Role
  /** It leads to a decision: there is no such page where nothing can be decided. */
  readonly isDecision?: true
  readonly show: (
    request: ScreenRequest,
  ) => Promise<ConsolePage | FileAnswer | { readonly redirect: string } | null>
}

/** Fields with what customers said and who they are, on whatever page. */
const personal = [
  'content',
  'name',
  'email',
  'lastWords',
  'words',
  'fields',
  'activity',
  'firstPage',
  'lastPage',
  'foundBy',
  'visitorName',
  'firstWords',
  'payload',
  'effect',
  'marks',
  'samples',
] as const

/**
 * Fields with other texts, which everyone may read: ids, times, what the team and deskmirror say,
 * and words of the service.
 */
type Public =
  | NamesIn<'id batchId conversationId messageId requestId visitorId ref digest example next'>
  | NamesIn<'conversationIds older syncedAt target'>
  | NamesIn<'at approvedAt createdAt deletedAt endedAt expiresAt finishedAt handled handledAt'>
  | NamesIn<'lastAt lastBy sentAt startedAt stoppedAt since sinceByService'>
  | NamesIn<'serviceWaitingSince waitingSince'>
  | NamesIn<'mirrorAsOf restsUntil undoUntil'>
  | NamesIn<'after agent approvedBy before by createdBy decidedBy detail difference endedByName'>
  | NamesIn<'error expect field note origin person reason restsBecause revertedBy reverts review'>
  | NamesIn<'role sender source stoppedBy text title why whyStopped'>

type NamesIn<List> = List extends `${infer Name} ${infer Others}` ? Name | NamesIn<Others> : List

/** The fields with any text, at any depth, that are neither. */
type Unclassified<T> = T extends readonly (infer Item)[]
  ? Unclassified<Item>
  : T extends object
    ? { [Name in keyof T & string]-?: UnclassifiedField<Name, T[Name]> }[keyof T & string]
    : never

type UnclassifiedField<Name, Value> = Name extends (typeof personal)[number]
  ? never
  : Unclassified<Value> | (HasText<Value> extends true ? Exclude<Name, Public> : never)

type HasText<Value> = string extends Value | (Value extends readonly (infer Item)[] ? Item : never)
  ? true
  : false

/** A new field with a text does not compile before it is said whether everyone may read it. */
export function visibleTo<T>(
  { viewer }: Pick<ProjectFrame, 'viewer'>,
  data: [Unclassified<T>] extends [never] ? T : { readonly isPersonalOrPublic: Unclassified<T> },
): T {
  return (viewer?.hidesMessages === true ? hideMessages(data) : data) as T
}

export function hideMessages<T>(data: T): T {
  return hide(data) as T
}

const personalNames: ReadonlySet<string> = new Set(personal)

function hide(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  const hidden = (inner: unknown) => (Array.isArray(inner) ? [] : null)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      personalNames.has(name) ? hidden(inner) : hide(inner),
    ]),
  )
}
