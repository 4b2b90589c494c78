/** A page of the console, and what surrounds every page. */
import type { Viewer } from '../core/console/roles.ts'
import type { Html } from '../core/html/html.ts'
import type { EpochMs } from '../core/time.ts'

export type Page = {
  readonly title: string
  /** Where it is in the navigation; null = nowhere. */
  readonly section: string | null
  readonly content: Html
  /** Its numbers change while it is open: the stream of the project has them. */
  readonly isLive?: boolean
}

/** What every page knows beside its own data. */
export type Frame = {
  /** Null: nobody is signed in. */
  readonly viewer: Viewer | null
  /** The projects by name. */
  readonly projects: readonly string[]
  /** The project that the page is about; null = none or all. */
  readonly project: string | null
  /** IANA name: all times are shown in it. */
  readonly timeZone: string
  readonly now: EpochMs
  /** Where the style sheet and the scripts are. */
  readonly assets: string
  /** A warehouse that is only looked at: nothing is late, and nothing can be decided. */
  readonly isReadOnly: boolean
  /** Whether anything can be decided here, by whoever may. */
  readonly canDecide: boolean
}

/** Of a page within one project. */
export type ProjectFrame = Frame & { readonly project: string }
