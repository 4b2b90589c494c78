/** The alert rules match the metrics. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/http/metrics.ts'
import { captureLog } from './test-server.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
type Rule = {
  alert: string
  expr: string
  labels: object
  annotations: { summary?: string; description?: string }
}
const { groups } = parse(read('deploy/alerts.yml')) as {
  groups: { rules: Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

async function metricNames(): Promise<readonly string[]> {
  const { text } = createMetrics({ readHealth: async () => [], log: captureLog().log })
  return [...(await text()).matchAll(/^# TYPE (deskmirror_\w+) /gm)].map(([, name = '']) => name)
}

test('every alert uses existing metrics', async () => {
  const names = new Set(await metricNames())
  for (const { alert, expr } of rules) {
    const asked = expr.match(/deskmirror_\w+/g) ?? []
    expect([alert, asked.filter((name) => !names.has(name))]).toEqual([alert, []])
  }
})

test('every alert says what happened, how serious it is and what to do', () => {
  const isComplete = ({ annotations, labels }: Rule) =>
    Boolean(annotations.summary && annotations.description) && 'severity' in labels
  expect(rules.filter((rule) => !isComplete(rule)).map(({ alert }) => alert)).toEqual([])
})
