/** What the tools of one session work with: one project, one person who started it. */
import type { DatabaseAddress, Warehouse } from '../app/open.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ConsoleProject } from '../console/console.ts'
import type { EpochMs } from '../values/time.ts'
import type { BoundedQuery } from '../warehouse/bounded-answer.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'

export type Session = {
  readonly project: ConsoleProject
  /** Where the warehouse is. */
  readonly address: DatabaseAddress
  /** For reading. */
  readonly warehouse: Warehouse
  readonly db: ProjectDb
  readonly query: BoundedQuery
  /** The person who started it sees no words, names or addresses of visitors, so neither does the assistant. */
  readonly hidesMessages: boolean
  /** Where drafts go; null: nothing can be proposed here. */
  readonly drafts: { readonly config: Config; readonly project: ProjectConfig } | null
  readonly now: () => EpochMs
}

/** `author`: the person and the assistant, as stored with what they draft. */
export type Call = { readonly session: Session; readonly author: string }
