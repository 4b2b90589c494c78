/** The options of a sandbox. All of them have defaults. */
import type { Scope } from './keys.ts'
import type { Size } from './seed/seed-data.ts'
import type { Switches } from './switches.ts'

export type KeyOptions = {
  readonly key: string
  /** All scopes by default. */
  readonly scopes?: readonly Scope[]
  /** The name of the key in logs; by default `key_` and a number. */
  readonly id?: string
}

export type ProjectOptions = {
  /** A UUID; by default one made from the seed. */
  readonly id?: string
  readonly seed?: number
  readonly size?: Partial<Size>
  readonly keys?: readonly KeyOptions[]
}

export type SandboxOptions = ProjectOptions & {
  /** 0 = any free port, the default. */
  readonly port?: number
  /** The prefix of every path of the API, for example `/v1`; none by default. */
  readonly prefix?: string
  /** Where the service's clock starts, RFC 3339. The seed data ends a few seconds earlier. */
  readonly now?: string
  /** Seconds of the service's clock per real second: 1 by default; 0 = it moves only by `advance`. */
  readonly speed?: number
  readonly switches?: Partial<Switches>
  /** Further projects beside the first, which the other options describe. */
  readonly projects?: readonly ProjectOptions[]
}
