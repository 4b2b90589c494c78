/** The demo's service. That the demo runs to its end is for `test/end-to-end/package.test.ts`. */
import { expect, test } from 'vitest'
import { startDemoService } from '../../src/cli/demo/service.ts'

test('its project is called demo, also where only the warehouse names it', async () => {
  const service = await startDemoService(Date.parse('2026-06-01T12:00:00Z'))
  const [conversation] = service.truth('conversations')
  await service.stop()
  expect([service.projectId, conversation?.row]).toEqual([
    'demo',
    expect.objectContaining({ projectId: 'demo' }),
  ])
})
