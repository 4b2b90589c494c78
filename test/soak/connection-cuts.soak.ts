/**
 * The connection of each operation breaks at every byte of its request, and at every byte of its
 * response.
 */
import { test } from 'vitest'
import { cutEverywhere, operationNames } from '../outbox/byte-cut-scenario.ts'

for (const kind of operationNames) test(kind, () => cutEverywhere(kind, 1))
