/**
 * A rebuild derives all facts anew: when the settings change, on request, and in spite of
 * interruptions.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import type { AnalyticsSettings } from '../../../src/config/analytics-settings.ts'
import { readStatus } from '../../../src/maintenance/sql/status-report.ts'
import type { Mirror } from '../../../src/mirror/sql/mirror.ts'
import { usualPolicy } from '../../support/budget-policy.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { commit, conversation, timeAt } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import {
  mirrorSomeRows,
  openFactsWarehouse,
  readFacts,
  refreshAndRebuild,
} from './facts-fixtures.ts'
import { factsOf, settings } from './facts-settings.ts'

const testOnOne = createTestOnOne()

const now = Date.UTC(2026, 10, 22)

const changedSettings: Readonly<Record<string, Partial<AnalyticsSettings>>> = {
  'business hours': { hours: null },
  holidays: { holidays: { '2026-01-01': [] } },
  'roles of senders': { roles: { ai: 'human' } },
  'how long a gap ends a visit': { visitGapSeconds: 1 },
  'how long a snapshot holds': { availabilityHoldSeconds: 60 },
}

for (const db of databases) {
  describe(`a rebuild — ${db.name}`, () => {
    testOnOne(
      db.name,
      'follows when settings change on which facts depend, and equals a first derivation',
      async () => {
        const { warehouse, mirror } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror)
        for (const [title, change] of Object.entries(changedSettings)) {
          const facts = factsOf(warehouse, { ...settings, ...change })
          expect(await facts.refresh(), title).toEqual({ conversations: 3, isComplete: true })
          const { refreshed, rebuilt } = await refreshAndRebuild(warehouse, facts)
          expect(refreshed, title).toEqual(rebuilt)
          expect(await facts.refresh(), title).toEqual({ conversations: 0, isComplete: true })
        }
      },
    )

    testOnOne(
      db.name,
      'follows when the time zone changes, and leaves no hour of the old one',
      async () => {
        const { warehouse, mirror, facts, list } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror)
        await facts.refresh()
        await factsOf(warehouse, settings, 'Asia/Kolkata').refresh()
        expect(await list('select hour from fct_availability_hour order by hour')).toEqual([5, 6])
        expect(await list('select distinct started_hour from fct_wait')).toEqual([5])
        expect(await list('select time_zone from facts_state')).toEqual(['Asia/Kolkata'])
      },
    )

    testOnOne(
      db.name,
      'is not needed for new targets and fields of calls, which facts do not depend on',
      async () => {
        const { warehouse, mirror, facts, list, one } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror)
        await facts.refresh()
        const target = {
          name: 'first answer',
          clock: 'any',
          which: 'first',
          withinSeconds: 900,
          from: null,
          to: null,
        } as const
        const targets = [{ ...target, inBusinessHours: true }]
        const calls = {
          visitor: 'visitorId',
          ended: null,
          outcome: null,
          duration: null,
          direction: null,
          agent: null,
        }
        const changed = factsOf(warehouse, { ...settings, targets, calls, personalData: false })
        expect(await changed.refresh()).toEqual({ conversations: 0, isComplete: true })
        expect(await list('select target_seconds from dim_sla')).toEqual([900])
        expect(await one('select visitor from call_fields')).toEqual({ visitor: 'visitorId' })
        expect(Boolean((await one('select personal_data from facts_state')).personal_data)).toBe(
          false,
        )
      },
    )

    testOnOne(
      db.name,
      'that was stopped goes on where it stopped, and status says how many conversations are left',
      async () => {
        const { warehouse, mirror, facts } = await openFactsWarehouse(db)
        const waiting = async () =>
          (await readStatus(warehouse.projectDb('main'), now, usualPolicy)).facts
        await mirrorSomeRows(mirror)
        expect(await waiting()).toEqual({ conversations: 3, isRebuild: false })
        await facts.refresh()
        const derived = await readFacts(warehouse)
        await storeConversations(mirror, 2500)
        expect(await waiting()).toEqual({ conversations: 2500, isRebuild: false })
        const stop = new AbortController()
        const stopped = await facts.rebuild({ signal: stop.signal, onProgress: () => stop.abort() })
        expect(stopped).toEqual({ conversations: 2000, isComplete: false })
        expect(await waiting()).toEqual({ conversations: 503, isRebuild: true })
        await mirror.commit(
          commit('conversations', [
            conversation('c1', { origin: 'changed', last_message_at: timeAt(9) }),
          ]),
        )
        expect(await facts.refresh()).toEqual({ conversations: 504, isComplete: true })
        expect(await waiting()).toEqual({ conversations: 0, isRebuild: false })
        const { refreshed, rebuilt } = await refreshAndRebuild(warehouse, facts)
        expect(refreshed).toEqual(rebuilt)
        expect(refreshed.fct_wait).toEqual(derived.fct_wait)
      },
    )

    testOnOne(
      db.name,
      'fills the facts of a mirror of which none have been derived yet',
      async () => {
        const { warehouse, mirror, facts, count } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror)
        // As a first run that was killed leaves it.
        await warehouse.query('delete from facts_due')
        await warehouse.query(`insert into facts_state (project_id, mirrored_since, version, fingerprint, time_zone, personal_data)
        values ('main', '${timeAt(0)}', 0, '', '', true)`)
        expect((await readStatus(warehouse.projectDb('main'), now, usualPolicy)).facts).toEqual({
          conversations: 3,
          isRebuild: true,
        })
        expect(await facts.refresh()).toEqual({ conversations: 3, isComplete: true })
        expect(await count('fct_conversation')).toBe(3)
      },
    )

    testOnOne(
      db.name,
      'is left to a newer version that has derived the facts, and so is what is pending',
      async () => {
        const { warehouse, mirror, facts, count, list } = await openFactsWarehouse(db)
        await mirrorSomeRows(mirror)
        await facts.refresh()
        await warehouse.query('update facts_state set version = 99')
        await mirror.commit(commit('conversations', [conversation('c4')]))
        await facts.refresh()
        expect([await count('facts_due'), await count('fct_conversation')]).toEqual([1, 3])
        expect(await list('select version from facts_state')).toEqual([99])
      },
    )
  })
}

async function storeConversations(mirror: Mirror, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) =>
    conversation(`d${String(n).padStart(5, '0')}`),
  )
  await mirror.commit(commit('conversations', rows))
}

/**
 * Begins a rebuild in another process, which prints a line after each step, and kills it at the
 * first one.
 */
async function killDuringRebuild(databaseUrl: string): Promise<void> {
  const script = fileURLToPath(new URL('./rebuild-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script, databaseUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await ended
  expect(child.signalCode).toBe('SIGKILL')
}

for (const db of databases) {
  testOnOne(
    db.name,
    `a rebuild whose process is killed goes on in another one, and nothing is missing — ${db.name}`,
    async () => {
      const { database, warehouse, mirror, one } = await openTestWarehouse(db)
      const facts = factsOf(warehouse)
      await mirrorSomeRows(mirror)
      await storeConversations(mirror, 4500)
      await facts.refresh()
      const derived = await readFacts(warehouse)
      await warehouse.query("update fct_conversation set origin = 'to be derived again'")
      await killDuringRebuild(database.url ?? '')
      expect((await one('select rebuilt_to from facts_state')).rebuilt_to).toMatch(/^\w+ /)
      expect((await facts.refresh()).isComplete).toBe(true)
      expect(await readFacts(warehouse)).toEqual(derived)
    },
  )
}
