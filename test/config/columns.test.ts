/** What `columns` accepts, and what it refuses with a sentence. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const key = { KEY: 'an-api-key', HASH_KEY: 'a-key-of-the-installation', SHORT: 'short' }

function load(lines: string, ofProject = '') {
  const folder = createTempFolder()
  const id = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
  writeFileSync(
    join(folder, 'deskmirror.yaml'),
    `${lines}\nprojects:\n  shop:\n    base_url: https://api.example.com/v1\n    project_id: ${id}\n    api_key: { env: KEY }\n${ofProject}`,
  )
  return loadConfig('service', folder, key).projects[0]!
}

const withKey = 'hash_key: { env: HASH_KEY }'

test('a project adds its columns to those of all, and its own line wins', () => {
  const { columns, hashKey } = load(
    `columns: { visitors.email: block, "*.ip": block }\n${withKey}`,
    '    columns: { visitors.email: hash, messages.content: block }\n',
  )
  expect(columns).toEqual([
    { stream: 'visitors', path: 'email', action: 'hash' },
    { stream: '*', path: 'ip', action: 'block' },
    { stream: 'messages', path: 'content', action: 'block' },
  ])
  expect(hashKey?.reveal()).toBe(key.HASH_KEY)
  expect(JSON.stringify(hashKey)).not.toContain(key.HASH_KEY)
})

const refused: readonly (readonly [lines: string, why: RegExp])[] = [
  ['columns: { visitor.email: block }', /begin the line with a stream: conversations/],
  ['columns: { visitors: block }', /name a field, too: write a map/],
  ['columns: { visitors.email: drop }', /write block or hash/],
  ['columns: visitors.email', /write a map/],
  [
    `columns: { visitors.id: hash }\n${withKey}`,
    /remove this line, because the mirror needs the field: rows are found/,
  ],
  [
    'columns: { conversations.visitorId: block }',
    /remove this line, because the mirror needs the field: rows are found/,
  ],
  [
    'columns: { conversations.last_message_at: block }',
    /lists are read, and rows are ordered, by it/,
  ],
  ['columns: { visitors.lastSeenAt: block }', /lists are read, and rows are ordered, by it/],
  ['columns: { "*.status": block }', /it says which rows are new, open or answered/],
  ['columns: { visitors.email: hash }', /hash_key is missing: columns are hashed with it/],
  ['columns: { visitors.email: hash }\nhash_key: { env: SHORT }', /has fewer than 16 characters/],
  ['columns: { visitors.email: hash }\nhash_key: { env: NOT_SET }', /NOT_SET/],
  [
    'columns: { visitors.email: hash }\nhash_key: a-key-of-the-installation',
    /contains the secret itself/,
  ],
]
for (const [lines, why] of refused)
  test(`refused: ${lines.replace('\n', ', ')}`, () => {
    expect(() => load(lines)).toThrow(why)
  })

test('a field that no row has shown is no mistake', () => {
  expect(load('columns: { visitors.customFields.chat: block }').columns).toHaveLength(1)
})
