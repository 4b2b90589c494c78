/** The options of `deskmirror verify`. */
import type { StreamName } from '../../core/stream-specs.ts'
import type { CommonOptions } from '../options.ts'

export type VerifyCommandOptions = CommonOptions & {
  readonly streams?: readonly StreamName[]
  /** How many differences, or days that are not the same, are listed. */
  readonly limit: number
  readonly sample?: number
  readonly certificate?: string
  readonly against?: string
  readonly force?: true
}
