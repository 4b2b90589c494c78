/** What a screen is: its address, who may see it, and how its data become a page. */
import type { ConsoleData } from '../../app/console/console-data.ts'
import type { ConsoleProject } from '../../app/console/console-project.ts'
import type { WritebackReads } from '../../app/console/writeback-data.ts'
import type { Page, ProjectFrame } from '../../console/page.ts'
import type { Role } from '../../core/console/roles.ts'
import type { Values } from './decision-target.ts'

export type ScreenRequest = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  readonly project: ConsoleProject
  readonly frame: ProjectFrame
  readonly params: Readonly<Record<string, string>>
  /** A parameter of the address; null = it is missing or empty. */
  readonly query: (name: string) => string | null
  /** The client has left. */
  readonly signal: AbortSignal
  /** A parameter that may be given several times. */
  readonly all: Values
}

/** `show` returns null if there is no such thing, or the address of another page. */
export type Screen = {
  readonly path: string
  readonly role: Role
  /** It leads to a decision: there is no such page where nothing can be decided. */
  readonly isDecision?: boolean
  readonly show: (request: ScreenRequest) => Promise<Page | { readonly redirect: string } | null>
}
