import { expect, test } from 'vitest'
import { withOpened } from '../../src/values/with-opened.ts'

test('what was opened is closed in the reverse order, one after the other, whatever fails', async () => {
  const events: string[] = []
  const open = (name: string, failure?: string) => ({
    close: async () => {
      await null
      events.push(name)
      if (failure !== undefined) throw new Error(failure)
    },
  })
  const work = withOpened(async (use) => {
    use(open('warehouse'))
    use(open('budget', 'its store is away'))
    use(open('service'))
    events.push('work')
    throw new Error('the work failed')
  })
  await expect(work).rejects.toThrow('its store is away')
  expect(events).toEqual(['work', 'service', 'budget', 'warehouse'])
  expect(await withOpened(async (use) => typeof use(open('last')))).toBe('object')
  expect(events.at(-1)).toBe('last')
})
