/** What commands report of the facts for analysts. */
import type { ProjectName } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'

/** The conversations whose facts for analysts are still to be derived. */
export type FactsWaiting = {
  readonly conversations: number
  /** All facts are being derived anew, because the settings or the definitions changed. */
  readonly isRebuild: boolean
}

/** What a role may read after `migrate --grant`. */
export type GrantReport = {
  readonly role: string
  /** The objects for analysts. */
  readonly granted: readonly string[]
  /** What else in the schema it can read, by rights that it had before. */
  readonly otherReadable: readonly string[]
}

/** `migrate --rebuild-analytics`, one project. */
export type FactsRebuildReport = {
  readonly project: ProjectName
  readonly conversations: number
  readonly tookMs: Ms
  /** `interrupted`: the next sync run continues. */
  readonly outcome: 'complete' | 'interrupted'
}
