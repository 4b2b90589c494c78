/** Webhooks wake a project once for each delay, on each kind of queue. */
import { expect, onTestFinished, test } from 'vitest'
import { openJobQueues, type SchedulerJob } from '../../jobs/queues.ts'
import { queueFixtures } from './queue-fixtures.ts'

test.for(queueFixtures)(
  'a project is woken once for all webhooks of a delay, and once more for those behind — $kind',
  async ({ make }) => {
    const fixture = await make()
    onTestFinished(fixture.drop)
    const backend = await fixture.open()
    onTestFinished(backend.close)
    const { wake } = openJobQueues(backend, 200)
    const woken: string[] = []
    const done = Promise.withResolvers<void>()
    backend.worker<SchedulerJob>('schedules', async ({ data }) => {
      const project = 'project' in data ? data.project : ''
      woken.push(`${data.schedule} ${project}`)
      // The others have run by then.
      if (project === 'last') done.resolve()
      if (woken.length === 1) for (const _ of [1, 2, 3]) await wake('shop')
      else if (woken.length === 3) await wake('last')
      return { do: 'done' }
    })
    for (const project of ['shop', 'school', 'shop', 'school', 'shop']) await wake(project)
    await done.promise
    expect(woken).toEqual(['webhook shop', 'webhook school', 'webhook shop', 'webhook last'])
  },
)
