/** The lines that `prove.ts` changes are there, so that it never proves less than it says. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { mutations } from './mutations.ts'

const root = new URL('../..', import.meta.url).pathname

test.each(mutations)('$promise: its line occurs once', ({ file, line }) => {
  expect(readFileSync(root + file, 'utf8').split(line)).toHaveLength(2)
})
