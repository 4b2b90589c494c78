/** What a page consists of, and what every page knows beside its own data. */
import type { Viewer } from '../config/people.ts'
import type { Html } from '../values/html.ts'
import type { ProjectName } from '../values/project.ts'
import type { EpochMs } from '../values/time.ts'

export type ConsolePage = {
  readonly title: string
  /** Where it is in the navigation; null = nowhere. */
  readonly section: string | null
  readonly content: Html
  /** Its live parts change while it is open. */
  readonly isLive?: boolean
  /** Of its address: the period and the agent, which the other pages about a period get. */
  readonly kept?: Readonly<Record<string, string | null>>
}

/** What every page knows beside its own data. */
export type Frame = {
  /** Null: nobody is signed in. */
  readonly viewer: Viewer | null
  /** Who may sign in with a token of their own. */
  readonly people: readonly (Pick<Viewer, 'name' | 'role'> & {
    readonly replyAs?: string | null
  })[]
  /** The projects by name. */
  readonly projects: readonly string[]
  /** The project that the page is about; null = none or all. */
  readonly project: ProjectName | null
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
export type ProjectFrame = Frame & {
  readonly project: ProjectName
  /** Whether people may approve what they queued themselves. */
  readonly approveOwn: boolean
}
