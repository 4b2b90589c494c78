/**
 * The connection breaks at bytes of a write and of its response. Every byte:
 * test/soak/connection-cuts.soak.ts.
 */
import { test } from 'vitest'
import { cutEverywhere, operationNames } from './byte-cut-scenario.ts'

for (const kind of operationNames) {
  test(`${kind}: wherever the connection breaks, the recorded outcome is correct`, () =>
    cutEverywhere(kind, 53))
}
