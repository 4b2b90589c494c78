/** The operations page and the alert rules match the metrics. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/http/metrics.ts'
import { captureLog } from './test-server.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/operations.md')
const { groups } = parse(read('deploy/alerts.yml')) as {
  groups: { rules: { alert: string; expr: string; labels: object; annotations: { summary: string } }[] }[]
}
const rules = groups.flatMap((group) => group.rules)

async function metricNames(): Promise<readonly string[]> {
  const { text } = createMetrics({ readHealth: async () => [], log: captureLog().log })
  return [...(await text()).matchAll(/^# TYPE (deskmirror_\w+) /gm)].map(([, name = '']) => name)
}

test('the page explains every metric, and no other', async () => {
  const explained = new Set([...page.matchAll(/`(deskmirror_\w+)`/g)].map(([, name = '']) => name))
  expect([...explained].sort()).toEqual([...(await metricNames())].sort())
})

test('every alert uses existing metrics', async () => {
  const names = new Set(await metricNames())
  for (const { alert, expr } of rules) {
    const asked = expr.match(/deskmirror_\w+/g) ?? []
    expect([alert, asked.filter((name) => !names.has(name))]).toEqual([alert, []])
  }
})

test('the page explains every alert, and no other', () => {
  const explained = [...page.matchAll(/`(Deskmirror\w+)`/g)].map(([, name]) => name)
  expect(explained).toEqual(rules.map(({ alert }) => alert))
  expect(rules.filter(({ annotations, labels }) => !annotations.summary || !('severity' in labels))).toEqual([])
})
