/**
 * Writes the files for BI tools below deploy/: dashboards for Grafana and Metabase, sources for
 * dbt, a data model for Cube. `--check` only checks that they are current.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { grafanaDashboard } from '../src/analytics/starters/grafana.ts'
import { metabaseDashboard } from '../src/analytics/starters/metabase.ts'
import { cubeModel, dbtSources } from '../src/analytics/starters/models.ts'

const yamlHead = '# Made by `node build/starters.ts`.\n'
const toJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const toYaml = (value: unknown) =>
  yamlHead + stringify(value, { lineWidth: 120, aliasDuplicateObjects: false })

const files: Readonly<Record<string, () => string>> = {
  'deploy/grafana/postgres/dashboards/support.json': () => toJson(grafanaDashboard('postgres')),
  'deploy/grafana/sqlite/dashboards/support.json': () => toJson(grafanaDashboard('sqlite')),
  'deploy/metabase/dashboard.json': () => toJson(metabaseDashboard()),
  'deploy/dbt/models/sources.yml': () => toYaml(dbtSources()),
  'deploy/cube/model/cubes/deskmirror.yml': () => toYaml(cubeModel()),
}

for (const [path, render] of Object.entries(files)) {
  const target = new URL(`../${path}`, import.meta.url)
  const fresh = render()
  if (!process.argv.includes('--check')) {
    mkdirSync(new URL('.', target), { recursive: true })
    writeFileSync(target, fresh)
  } else if (!existsSync(target) || readFileSync(target, 'utf8') !== fresh) {
    process.stderr.write(`${path} is out of date: run node build/starters.ts\n`)
    process.exitCode = 1
  }
}
