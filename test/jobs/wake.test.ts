/** Webhooks wake a project once for each delay, and a sync waits once, on each kind of queue. */
import { expect, onTestFinished, test } from 'vitest'
import { openJobQueues, type SchedulerJob, type SyncJob } from '../../jobs/queues.ts'
import { syncJobsOfSchedule, toSyncJobs, wokenSyncJobs } from '../../jobs/schedule-plan.ts'
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

// Therefore a firing is no sync itself: what a schedule adds has no id.
test.for(queueFixtures)(
  'a sync waits once, whether its schedule, a webhook or maintenance asks for it — $kind',
  async ({ make }) => {
    const fixture = await make()
    onTestFinished(fixture.drop)
    const backend = await fixture.open()
    onTestFinished(backend.close)
    const { enqueueSyncJobs } = openJobQueues(backend)
    const project = { name: 'shop', streams: ['conversations', 'visitors'] } as const
    const last = toSyncJobs('sync', { name: 'last' }, ['calls'])
    const isRead = Promise.withResolvers<void>()
    const ran: string[] = []
    for (const planned of [
      syncJobsOfSchedule('incremental', project),
      wokenSyncJobs(project),
      toSyncJobs('sync', project, ['visitors']),
      last,
    ])
      await enqueueSyncJobs(planned)
    backend.worker<SyncJob>('sync', async ({ data }) => {
      ran.push(`${data.project} ${data.stream}`)
      if (data.project === 'last') isRead.resolve()
      return { do: 'done' }
    })
    await isRead.promise
    expect(ran).toEqual(['shop conversations', 'shop visitors', 'last calls'])
  },
)
