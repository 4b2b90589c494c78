/** Four hundred write-backs with lost answers under each wrong clock and each way of changing a reply. */
import { expect, test } from 'vitest'
import { changes, clocks, judgeAll, sendAll, type World } from '../writeback/wrong-clocks.ts'

const namesOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[]

for (const clock of namesOf(clocks)) {
  for (const change of namesOf(changes)) {
    test(`${clock}, ${change}`, async () => {
      const world: World = { clock, change, writebacks: 400 }
      const o = await sendAll(world)
      const counts = await judgeAll(o)
      if (changes[change][1]) expect(counts).not.toHaveProperty('message uncertain')
      expect(counts['message succeeded']).toBeGreaterThan(50)
    })
  }
}
