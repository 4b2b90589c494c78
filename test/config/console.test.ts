/** The people who may sign in to the console, in deskmirror.yaml. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { collectSecrets, settingsNeedingRestart } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const folder = createTempFolder(afterAll)

function load(people: string, variables: Record<string, string> = {}) {
  const project = 'projects: { shop: { project_id: shop, base_url: https://api.example.com/v1 } }\n'
  writeFileSync(join(folder, 'deskmirror.yaml'), `${people}\n${project}`)
  return loadConfig('database', folder, variables)
}

const ann = '{ name: ann, role: approver, token: { env: ANN_TOKEN } }'
const problems = (people: string) => {
  try {
    load(people)
    return ''
  } catch (error) {
    return String((error as { why?: string }).why)
  }
}

test('each has a name, a role and a token, which is never printed', () => {
  const config = load(
    `console: { people: [${ann}, { name: Data, role: viewer, token: { file: none }, messages: hidden }] }`,
    {
      ANN_TOKEN: 'a-token-of-ann',
    },
  )
  expect(
    config.console.people.map(({ name, role, hidesMessages }) => [name, role, hidesMessages]),
  ).toEqual([
    ['ann', 'approver', false],
    ['Data', 'viewer', true],
  ])
  expect(config.console.people[0]?.token.reveal()).toBe('a-token-of-ann')
  expect(JSON.stringify(config)).not.toContain('a-token-of-ann')
  expect(collectSecrets(config)).toContain('a-token-of-ann')
  expect(() => config.console.people[1]?.token.reveal()).toThrow('a secret is needed')
})

test('without the setting nobody is named', () => {
  expect(load('').console.people).toEqual([])
})

test.each([
  ['console: open', 'must be a map'],
  ['console: { people: ann }', 'must be a list of people'],
  ['console: { people: [ann] }', 'must be a person'],
  [
    'console: { people: [{ name: ann, role: admin, token: { env: A } }] }',
    'must be viewer, operator or approver',
  ],
  ['console: { people: [{ role: viewer, token: { env: A } }] }', 'name the person'],
  ['console: { people: [{ name: ann, role: viewer }] }', 'must have a token'],
  [
    'console: { people: [{ name: ann, role: viewer, token: hunter2hunter2hunter2 }] }',
    'contains the secret itself',
  ],
  [
    `console: { people: [${ann}, { name: Ann, role: viewer, token: { env: A } }] }`,
    'is the name of two people',
  ],
  ['console: { persons: [] }', 'is an unknown setting'],
])('%s is refused', (yaml, why) => {
  expect(problems(yaml)).toContain(why)
  expect(problems(yaml)).not.toContain('hunter2')
})

test('a change of the people needs no restart', () => {
  expect(settingsNeedingRestart(load(''), load(`console: { people: [${ann}] }`))).toEqual([])
})
