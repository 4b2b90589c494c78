/** What `lake` accepts, for the warehouse and for a project, and what it refuses with a sentence. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lakesOf } from '../../src/config/lakes.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createTempFolder } from '../support/temp-folder.ts'

function load(lines: string, ofProject = '', variables: Readonly<Record<string, string>> = {}) {
  const folder = createTempFolder()
  const project = (name: string) =>
    `  ${name}: { base_url: https://api.example.com/v1, project_id: ${name}, api_key: { env: KEY }`
  writeFileSync(
    join(folder, 'deskmirror.yaml'),
    `${lines}\nprojects:\n${project('shop')}${ofProject} }\n${project('school')} }\n`,
  )
  return loadConfig('service', folder, { KEY: 'an-api-key', ...variables })
}

const nightly = { kind: 'nightly' }

test('a lake has the rows of all projects; one of a project is its own, beside that', () => {
  const config = load(
    'lake: lake',
    ', lake: { folder: own, objects: [calls, fct_*], schedule: 6h }',
  )
  expect(config.lake).toEqual({ folder: 'lake', objects: [], schedule: nightly })
  const [shop, school] = config.projects
  const foldersOf = (project = shop) => lakesOf(config, project).map(({ folder }) => folder)
  expect([foldersOf(shop), foldersOf(school)]).toEqual([['lake', 'own'], ['lake']])
  expect(shop!.lake).toEqual({
    folder: 'own',
    objects: ['calls', 'fct_*'],
    schedule: { kind: 'every', ms: 21_600_000 },
  })
})

test('a variable names the folder, and wins over the file', () => {
  expect(load('lake: lake', '', { DESKMIRROR_LAKE: '/data/lake' }).lake?.folder).toBe('/data/lake')
  expect(load('').lake).toBeNull()
})

const refused: readonly (readonly [lines: string, ofProject: string, why: RegExp])[] = [
  ['lake: s3://bucket/lake', '', /:1 lake is not valid .*write a folder of this machine/],
  ['lake: ""', '', /write a folder of this machine/],
  ['lake: [lake]', '', /write a folder, or \{ folder/],
  ['lake: { objects: [calls] }', '', /lake.folder is missing: write a folder/],
  ['lake: { folder: lake, objects: calls }', '', /write a list of tables and views/],
  ['lake: { folder: lake, schedule: 6 }', '', /write a duration of at least 1s/],
  ['lake: { folder: lake, every: 6h }', '', /lake.every is an unknown setting/],
  ['lake: data/lake', ', lake: data/../data/lake/', /projects.shop.lake is the folder of another/],
]
for (const [lines, ofProject, why] of refused)
  test(`refused: ${lines}${ofProject}`, () => {
    expect(() => load(lines, ofProject)).toThrow(why)
  })
