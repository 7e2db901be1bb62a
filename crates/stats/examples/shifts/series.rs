//! A series of somebody's own: one column of a CSV file, or one number on each line.

use std::error::Error;

use super::Method;

/// Prints where each method finds shifts in the positive numbers of a column, by its name in the
/// first line; without a name each line is a number.
pub(crate) fn shifts_of(file: &str, column: Option<&str>) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines();
    let at = match column {
        None => 0,
        Some(name) => {
            let mut head = lines.next().unwrap_or_default().split(',');
            head.position(|heading| heading == name)
                .ok_or(format!("{file} has no column {name}"))?
        }
    };
    let number = |line: &str| {
        let field = line.split(',').nth(at).unwrap_or_default().trim();
        let number = field.parse::<f64>().ok().filter(|number| *number > 0.0);
        number.map(f64::ln).ok_or(format!("{file}: {field:?} is not a positive number"))
    };
    let values: Vec<f64> = lines.map(number).collect::<Result<_, String>>()?;
    println!("{} points", values.len());
    for method in Method::ALL {
        let mut shifts = method.shifts(&values, 1);
        shifts.sort_unstable();
        println!("{}: {shifts:?}", method.name());
    }
    Ok(())
}
