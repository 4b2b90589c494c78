/** The guide to the sandbox names every fault, stream and control. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultKinds } from '../../src/sandbox/server/faults.ts'
import { truthStreams } from '../../src/sandbox/truth.ts'

const guide = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
const control = readFileSync(new URL('../../src/sandbox/server/control.ts', import.meta.url), 'utf8')

test('faults, streams and controls are in the guide', () => {
  const controls = [...control.matchAll(/'(?:GET|POST) ([a-z-]+)'/g)].map(([, name]) => name!)
  expect(controls.length).toBeGreaterThan(10)
  for (const name of [...Object.keys(faultKinds), ...truthStreams, ...controls])
    expect(guide).toMatch(new RegExp(`[\`/ {]${name}[\` ]`))
})
