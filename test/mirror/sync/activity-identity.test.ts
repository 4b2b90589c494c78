/**
 * Entries of activity are mirrored once each, whatever their ids are, and in whatever order a page
 * shows them.
 */
import { expect, test } from 'vitest'
import { visitorActivity } from '../../../src/mirror/core/streams.ts'
import type { Switches } from '../../../src/sandbox/switches.ts'
import type { Json } from '../../../src/values/json.ts'
import { sampledTest } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { type SandboxContext, withSandbox } from './with-sandbox.ts'

type Work = (context: SandboxContext, visitor: string) => Promise<void>

/** A visitor with more than a page of entries, the last 20 of them in one second. */
async function withActivity(switches: Partial<Switches>, work: Work): Promise<void> {
  const size = {
    conversations: 0,
    visitors: 1,
    calls: 0,
    days: 1,
    activityPerVisitor: [75, 75],
  } as const
  const given = { 'pages.size': 60, 'storm.activity': 20, ...switches }
  const streams = ['visitors', 'visitor_activity'] as const
  const options = { seed: 1, speed: 0, size, switches: given, streams }
  await withSandbox(options, (context) =>
    work(context, [...context.sandbox.truth('visitors')][0]!.id!),
  )
}

function addEntries({ sandbox }: SandboxContext, visitor: string, count: number): void {
  for (let n = 0; n < count; n++) {
    sandbox.advance(1000)
    sandbox.mutate.addActivity(visitor)
  }
}

/** How many entries are missing, extra or different. */
async function differences({ sandbox, warehouse }: SandboxContext) {
  const found = await findDifferences(warehouse, sandbox, sandbox.projectId, ['visitor_activity'])
  return Object.fromEntries(
    [...Map.groupBy(found, ({ how }) => how)].map(([how, rows]) => [how, rows.length]),
  )
}

for (const ids of ['none', 'own', 'page'] as const) {
  for (const order of ['newest', 'newest-ascending'] as const) {
    for (const hasMore of ['exact', 'always'] as const) {
      const name = `ids: ${ids}, order: ${order}, \`hasMore\`: ${hasMore}`
      // Each pair of two of the three.
      const isInSample = (ids === 'page') !== ((order === 'newest') === (hasMore === 'exact'))
      sampledTest(
        isInSample,
        `a page of new entries that ends within a second read before loses and repeats none: ${name}`,
        async () => {
          await withActivity(
            { 'activity.ids': ids, 'activity.order': order, hasMore },
            async (context, visitor) => {
              const { sandbox, sync } = context
              await sync()
              expect(await differences(context)).toEqual({})
              sandbox.advance(3_600_000)
              // The next read begins with this entry, after the second with many.
              addEntries(context, visitor, 1)
              await sync()
              addEntries(context, visitor, 50)
              await sync()
              expect(await differences(context)).toEqual({})
              await sync({ mode: 'reconcile' })
              expect(await differences(context)).toEqual({})
            },
          )
        },
      )
    }
  }
}

for (const ids of ['own', 'page'] as const) {
  test(`an entry whose content changes stays one entry: ids: ${ids}`, async () => {
    await withActivity({ 'activity.ids': ids }, async (context, visitor) => {
      await context.sync()
      for (const k of [3, 70]) context.sandbox.mutate.editActivity(visitor, k, 12_345)
      await context.sync({ mode: 'reconcile' })
      expect(await differences(context)).toEqual({})
    })
  })

  test(`entries that appear late, with an earlier time, overwrite no other: ids: ${ids}`, async () => {
    const late = { 'late.share': 0.3, 'late.of': 'activity', 'late.seconds': 7200 } as const
    await withActivity({ 'activity.ids': ids, ...late }, async (context, visitor) => {
      await context.sync()
      context.sandbox.advance(3_600_000)
      addEntries(context, visitor, 5)
      await context.sync()
      context.sandbox.advance(7_200_000)
      await context.sync({ mode: 'reconcile' })
      expect(await differences(context)).toEqual({})
    })
  })
}

const at = '2026-05-01T10:00:00Z'

test.for<readonly [what: string, items: readonly Json[], ordinals: readonly number[]]>([
  [
    'twice alike',
    [
      { id: 'a', kind: 'view', at },
      { at, kind: 'view', id: 'a' },
    ],
    [0],
  ],
  [
    'alike around another one',
    [
      { id: 'a', at },
      { id: 'a', at, kind: 'view' },
      { id: 'a', at },
    ],
    [0, 1],
  ],
  [
    'with different contents',
    [
      { id: 'a', kind: 'view', at },
      { id: 'a', kind: 'click', at },
    ],
    [0, 1],
  ],
  ['with a time that is missing', [{ id: 'a' }, { id: 'a' }], [0]],
  [
    'without an id',
    [
      { kind: 'view', at },
      { kind: 'view', at },
    ],
    [0, 1],
  ],
])('an entry that a page shows %s', ([, items, ordinals]) => {
  expect(visitorActivity.parseRows(items, 'v').rows.map(({ columns }) => columns.ordinal)).toEqual(
    ordinals,
  )
})
