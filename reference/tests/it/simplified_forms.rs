#[test]
fn committed_table_is_the_one_of_opencc() {
    let committed = include_str!("../../../crates/text/src/simplified_forms.txt");
    assert!(committed == reference::simplified_forms(), "run `make reference` and commit the new table");
}
