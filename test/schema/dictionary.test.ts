/** The reference documents are those of the code. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { logEvents } from '../../schema/log-events.ts'
import { analyticsObjects, relationOf } from '../../src/analytics/views/all-views.ts'

const root = new URL('../..', import.meta.url).pathname
test('every event of the log is described, and no other', () => {
  const sources = globSync('{src,jobs}/**/*.ts', { cwd: root }).map((path) =>
    readFileSync(`${root}${path}`, 'utf8'),
  )
  const code = sources.join('\n')
  const logged = [...code.matchAll(/event: [^,}]*?'([a-z_]+\.[a-z_]+)'/g)].map(
    ([, event = '']) => event,
  )
  expect(logged.length).toBeGreaterThan(60)
  expect(logged.filter((event) => !(event in logEvents))).toEqual([])
  expect(Object.keys(logEvents).filter((event) => !code.includes(`'${event}'`))).toEqual([])
})

test('every relation leads to a column that exists', () => {
  for (const { name, columns } of analyticsObjects) {
    for (const [column, { role }] of Object.entries(columns)) {
      const relation = relationOf(name, column)
      if (relation === null) continue
      expect(role, `${name}.${column}`).not.toBe('measure')
      const target = analyticsObjects.find((object) => object.name === relation.object)
      expect(Object.keys(target?.columns ?? {}), `${name} → ${relation.object}`).toContain(
        relation.column,
      )
    }
  }
})

test('docs/reference is up to date', () => {
  const { status, stderr } = spawnSync(process.execPath, ['build/dictionary.ts', '--check'], {
    cwd: root,
  })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

test('the documents of commands say what they are, and not which function makes them', () => {
  const commands = readFileSync(`${root}docs/reference/commands.md`, 'utf8')
  expect(commands.match(/.*ReturnType<.*/g)).toBeNull()
})
