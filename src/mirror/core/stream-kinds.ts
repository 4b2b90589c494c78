/** A stream: data and pure functions, in five kinds by how the service lets it be read. */
import type { MirrorRow } from '../../../schema/row.ts'
import type { StreamKind, StreamNameOf } from '../../../schema/stream-specs.ts'
import type { LocalDay } from '../../values/days.ts'
import type { Json, JsonObject } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochSeconds, Seconds } from '../../values/time.ts'
import type { ParsedRows } from './item-fields.ts'
import type { ListEndpoint } from './pagination/paging-profile.ts'

type StreamOf<Kind extends StreamKind> = {
  readonly kind: Kind
  readonly name: StreamNameOf<Kind>
  readonly scope: `${string}:read`
}

/** A list of the project, paged by time; its rows can also be read by id. */
export type ListStream = StreamOf<'list'> & {
  readonly list: (project: ProjectId) => ListEndpoint
  readonly rowPath: (project: ProjectId, id: string) => string
  /** `project`: rows that name another project are rejected. */
  readonly parseRows: <Item extends Json>(
    items: readonly Item[],
    project?: ProjectId | null,
  ) => ParsedRows<Item>
}

/** A list that belongs to one parent. */
export type ChildListStream = StreamOf<'child-list'> & {
  readonly list: (project: ProjectId, parentId: string) => ListEndpoint
  /** The parent's time of last activity is that of its newest row. Else it may be later. */
  readonly parentShowsNewest: boolean
  /** Rows with the same key are numbered by their place, so a second has to be read whole. */
  readonly isNumbered: boolean
  readonly parseRows: <Item extends Json>(
    items: readonly Item[],
    parentId: string,
    options?: {
      /** Rows that name another project are rejected. */
      readonly project?: ProjectId | null
      /** Counts identical rows across the batches of one response, to number them. Mutable. */
      readonly duplicateCounts?: Map<string, number>
    },
  ) => ParsedRows<Item>
}

/** One object that belongs to one parent. */
export type ChildObjectStream = StreamOf<'child-object'> & {
  readonly path: (parentId: string) => string
  /** `item` null: the service responded 404 for a parent that exists. */
  readonly parseRow: <Item extends Json>(
    item: Item | null,
    parentId: string,
    readAt: EpochSeconds,
  ) => MirrorRow<Item>
  /** Until the next read if the parent does not change; null = never. `age`: of the parent. */
  readonly rereadAfter: (item: JsonObject | null, age: Seconds) => Seconds | null
}

export type DailyStream = StreamOf<'daily'> & {
  readonly path: (project: ProjectId) => string
  readonly parseRow: <Item extends Json>(
    item: Item,
    day: LocalDay,
    timeZone: string,
    readAt: EpochSeconds,
  ) => MirrorRow<Item>
}

/** An object that shows the current state only. */
export type SnapshotStream = StreamOf<'snapshot'> & {
  readonly path: (project: ProjectId) => string
  readonly parseRow: <Item extends Json>(item: Item, readAt: EpochSeconds) => MirrorRow<Item>
}

export type Stream = ListStream | ChildListStream | ChildObjectStream | DailyStream | SnapshotStream
