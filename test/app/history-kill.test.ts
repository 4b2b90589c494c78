/** A sync that is killed between what replaced a row and its commit leaves both, or neither. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runDeskmirror } from '../cli/run-process.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture } from '../outbox/outbox-fixture.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const preload = new URL('./kill-before-statement.ts', import.meta.url).href

const testOnOne = createTestOnOne()

for (const database of ['sqlite', 'postgres'] as const)
  testOnOne(
    database,
    `a killed sync loses no version, and the next one keeps it once — ${database}`,
    async () => {
      const { instance, sandbox, visitor, warehouse } = await createOutboxFixture({
        database,
        mirrored: false,
        size: { conversations: 3, visitors: 3, calls: 0, activityPerVisitor: 0, days: 1 },
      })
      await syncOnce(instance.url, sandbox, { streams: ['visitors'] })
      sandbox.mutate.renameVisitor(visitor(0), 'Another Name', null)
      const cwd = createTempFolder()
      writeFileSync(join(cwd, 'deskmirror.yaml'), 'history: [visitors]')
      const sync = async (env: Readonly<Record<string, string>>) => {
        const variables = {
          DESKMIRROR_BASE_URL: sandbox.baseUrl,
          DESKMIRROR_PROJECT_ID: sandbox.projectId,
          DESKMIRROR_API_KEY: sandbox.key,
          DESKMIRROR_DATABASE_URL: instance.url,
          ...env,
        }
        return (
          await runDeskmirror(['sync', '--mode', 'full', '--streams', 'visitors'], {
            cwd,
            env: variables,
          })
        ).exit
      }
      const state = () =>
        warehouse.query(`select v.name, h.name as former from visitors v
        left join visitors_history h on h.id = v.id where v.id = '${visitor(0)}'`)
      const [before] = await state()
      const kill = { KILL_FROM: 'insert into "visitors_history"', KILL_BEFORE: 'commit 1' }
      expect(await sync({ NODE_OPTIONS: `--import=${preload}`, ...kill })).toBe(null)
      expect(await state()).toEqual([before])
      expect(await sync({})).toBe(0)
      expect(await state()).toEqual([{ name: 'Another Name', former: before?.name }])
    },
  )
