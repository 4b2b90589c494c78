/** Which databases the projects of a configuration have. Worker and commands over several: `test/app/worker/shards.test.ts`. */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { databaseUrls } from '../../src/warehouse/shards.ts'

const urlsOf = (...others: readonly (string | null)[]) =>
  databaseUrls({
    databaseUrl: 'sqlite:a.db',
    projects: others.map((databaseUrl, n) => ({ projectId: `p${n}`, databaseUrl })),
  })

test('the first database comes first, and each once', () => {
  expect(urlsOf('sqlite:b.db', null, 'sqlite:c.db', 'sqlite:b.db')).toEqual([
    'sqlite:a.db',
    'sqlite:b.db',
    'sqlite:c.db',
  ])
})

test('however its path is written', () => {
  expect(urlsOf('sqlite:./a.db', `sqlite:${resolve('a.db')}`, `sqlite://${resolve('a.db')}`)).toEqual(['sqlite:a.db'])
})
