/** A connection may break at any byte of a write and of its answer. At each one of them: test/soak/connection-cuts.soak.ts. */
import { test } from 'vitest'
import { cutEverywhere, operationNames } from './byte-cut-scenario.ts'

for (const kind of operationNames) {
  test(`${kind}: wherever its connection breaks, what is concluded is true`, () => cutEverywhere(kind, 53))
}
