/** A warehouse that nothing has been mirrored into: an error for whoever wants to read it, and none for a first sync. */
import { UserError } from '../../core/user-error.ts'

export class EmptyWarehouseError extends UserError {
  constructor() {
    super({
      what: 'cannot read the warehouse',
      why: 'nothing has been mirrored into it yet',
      next: 'run `deskmirror sync` first',
      exitCode: 2,
    })
    this.name = 'UnusedWarehouse'
  }
}
