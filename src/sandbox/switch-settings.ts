/** The current switches, and listeners for their changes. */

import { parseMutationKinds } from './random-mutations.ts'
import { parseRowKinds } from './row-sample.ts'
import { parseFaultKinds } from './server/faults.ts'
import { parseSwitches, type Switches, type SwitchName } from './switches.ts'

export type SwitchSettings = ReturnType<typeof createSwitchSettings>

export function createSwitchSettings(given: Partial<Switches>) {
  let switches = validateSwitches(parseSwitches(given))
  const listeners: ((names: readonly SwitchName[]) => void)[] = []
  return {
    current: () => switches,
    /** All of them or none. Throws RangeError for an unknown name or value. */
    set(changes: Partial<Switches>) {
      switches = validateSwitches(parseSwitches(changes, switches))
      for (const listener of listeners) listener(Object.keys(changes) as SwitchName[])
    },
    onChange: (listener: (names: readonly SwitchName[]) => void) => void listeners.push(listener),
  }
}

/** Throws RangeError if a switch names an unknown fault, change or kind of row. */
function validateSwitches(switches: Switches): Switches {
  parseFaultKinds(switches['fault.kinds'])
  parseMutationKinds(switches['move.kinds'])
  parseRowKinds(switches['misdated.of'])
  parseRowKinds(switches['late.of'])
  parseRowKinds(switches['undated.of'])
  return switches
}
